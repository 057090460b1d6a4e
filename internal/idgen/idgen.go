// Package idgen makes ids, in nine schemes, and gives them to others (service.go).
//
// Snowflakes, sonyflakes and readable ids hold a worker's number, which is leased from the records (lease.go), and a time.
// Segments, multi-primary ids, sequences and ids by rules are counted there, in ranges (counters_store.go). UUIDv7 and ULID need
// nobody's leave. No two ids of a generator's name are ever the same: not after a crash, not from a process that slept, not when
// clocks step, and not from a copy of a disk. Where that cannot be had there is an error, never an id that may be another's.
//
// It owns its tables in the records and touches nothing else. All methods may be called from many goroutines.
package idgen
