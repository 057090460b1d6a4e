// Package standby tests the scripts in deploy/compose that set up PostgreSQL's primary and its standby. It uses PostgreSQL itself, without
// containers.
package standby
