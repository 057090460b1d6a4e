package idgen

import "slices"

// messagePool is the name of the generators of messages' ids.
const messagePool = "message"

// How many parts the spins of a millisecond are divided into by default.
const (
	ownRanges    = 16 // where one process has the database
	sharedRanges = 64 // where nodes share it
)

// Share says how a row of this room's tables is stored when a database that one process had for itself becomes one that nodes
// share: the ranges of message ids are then smaller ones, each of which goes on above what was given in it. Rows of other tables
// stay as they are.
func Share(table string, columns []string, row []any) [][]any {
	at := func(name string) int { return slices.Index(columns, name) }
	pool := at("pool")
	if pool < 0 || row[pool] != messagePool {
		return [][]any{row}
	}
	switch size, slot := at("size"), at("slot"); {
	case table == "idgen_pools" && size >= 0 && row[size] == int64(ownRanges):
		row = slices.Clone(row)
		row[size] = int64(sharedRanges)
	case table == "idgen_workers" && slot >= 0:
		const parts = sharedRanges / ownRanges
		old, _ := row[slot].(int64)
		var rows [][]any
		for i := range int64(parts) {
			part := slices.Clone(row)
			part[slot] = old*parts + i
			rows = append(rows, part)
		}
		return rows
	}
	return [][]any{row}
}
