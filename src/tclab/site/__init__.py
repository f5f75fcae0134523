"""The site: snippets, the engine that runs them, the store of their runs, pages and labs."""
