"""What can be told from an installed tree alone: no module here knows of rockiln's targets, recipes or images."""
