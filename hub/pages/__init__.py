"""What people see: server-rendered, usable without JavaScript."""
