// Package idgen generates ids of 64 bits (Snowflake, Sonyflake) and ids of messages. The generators are those of the SDK's package ids;
// here their worker ids are leased from the database (worker_lease.go).
//
// A generator never gives an id twice: not after a crash, not when a paused process continues, not when the clock steps back, and not
// from a copy of a disk. Where it cannot be sure, it returns an error instead of an id.
//
// The package owns its tables idgen_leases and idgen_pools. All methods are safe for concurrent use.
package idgen
