package idgen

import "slices"

// messageLeaseName is the name of the pool of worker ids for message ids.
const messageLeaseName = "message"

// The default number of parts of a millisecond's spins.
const (
	exclusiveRanges = 16 // for a single process
	sharedRanges    = 64 // for nodes that share a database
)

// MigrateToShared converts a row of this package's tables when the database of a single process becomes one that nodes share. The ranges of
// message ids are split, and each part continues above the ids issued in the whole range. Other rows stay as they are.
func MigrateToShared(table string, columns []string, row []any) [][]any {
	at := func(name string) int { return slices.Index(columns, name) }
	is := func(column string) bool { i := at(column); return i >= 0 && row[i] == messageLeaseName }
	switch size, slot := at("size"), at("number"); {
	case table == "idgen_pools" && is("pool") && size >= 0 && row[size] == int64(exclusiveRanges):
		row = slices.Clone(row)
		row[size] = int64(sharedRanges)
	case table == string(workers) && is("kind") && slot >= 0:
		const parts = sharedRanges / exclusiveRanges
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
