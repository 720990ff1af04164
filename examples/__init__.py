"""Small servers, each started by one command."""
