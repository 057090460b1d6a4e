// Package standby runs the scripts that make PostgreSQL's primary and its standby in deploy/compose, with PostgreSQL itself and without
// containers. All of it is tests.
package standby
