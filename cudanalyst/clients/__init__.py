"""The bundled agent: a client that speaks MCP to the server and knows nothing of its inside."""
