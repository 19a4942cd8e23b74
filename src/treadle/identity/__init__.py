"""Projects, users, API keys and the audit log: who may do what in an installation."""
