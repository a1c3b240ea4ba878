"""What tests share. A test module imports from here and from the adapter, never from another test module."""
