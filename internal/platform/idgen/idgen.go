// Package idgen generates ids of 64 bits (Snowflake, Sonyflake) and ids of messages. The generators are those of the SDK's package ids.
// This package leases their worker ids from the database (worker_lease.go).
//
// A generator never returns an id twice, even after a crash, when a paused process continues, when the clock steps back, or
// when it starts from a copy of a disk. If it cannot be sure, it returns an error instead of an id.
//
// The package owns its tables idgen_leases and idgen_pools. All methods are safe for concurrent use.
package idgen
