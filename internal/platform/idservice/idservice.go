// Package idservice issues ids to other services, by tags and in ten schemes (docs/ids.md). The product itself uses package idgen.
//
// Snowflake, Sonyflake, readable ids, UUIDv7 and ULID come from idgen. Segments, multi-primary ids, sequences and ids by rules are
// counters in the database, of which a node reserves ranges (counter_store.go). No id of a tag is ever issued twice, whatever crashes. If
// the service cannot be certain, it returns an error instead of an id.
//
// The package owns its tables, whose names begin with id_. All methods are safe for concurrent use.
package idservice
