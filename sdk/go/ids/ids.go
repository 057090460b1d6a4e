// Package ids makes and reads ids: snowflakes and other ids of a time, a worker and a sequence, readable ids, UUIDs of version 7 and ULIDs.
// It needs no server, and nothing but the standard library.
//
// UUIDs and ULIDs are unique by random bits. The others contain a worker id, which you give (Config): two generators that have the same one
// at the same time make the same ids. If you cannot number your processes, lease worker ids (Lease), or get ids from a deployment's id
// service with rialto.IDs, which leases them in its database.
//
// Rialto's server makes its ids with this package. All functions and methods may be called from many goroutines, except where they say
// otherwise.
package ids
