"""Figures, tables and the report page, drawn from the files of results/ alone."""
