package ranking

import (
	"github.com/rialto-im/rialto/internal/platform/userdata"
)

// userTables are the tables of the package with data of users.
var userTables = []userdata.Table{
	{Name: "ranking_less", Export: `SELECT target, subject, at_ms FROM ranking_less WHERE reader = $1 ORDER BY at_ms`,
		Erase: `DELETE FROM ranking_less WHERE (reader, target, subject) IN (SELECT reader, target, subject FROM ranking_less WHERE reader = $1 LIMIT $2)`},
	{Name: "ranking_shown", Export: `SELECT post, at_ms, place, features, clicked_ms, dwell_ms, converted_ms FROM ranking_shown WHERE reader = $1 ORDER BY at_ms, place`,
		Erase:  `DELETE FROM ranking_shown WHERE (reader, post, at_ms) IN (SELECT reader, post, at_ms FROM ranking_shown WHERE reader = $1 LIMIT $2)`,
		Decode: map[string]func([]byte) (any, error){"features": namedFeatures}},
}

// namedFeatures returns stored features by their names.
func namedFeatures(b []byte) (any, error) {
	row, ok := decodeFeatures(b)
	named := map[string]float32{}
	if !ok { // of another version
		return named, nil
	}
	for i, name := range ModelFeatures() {
		named[name] = row[i]
	}
	return named, nil
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return &userdata.Tables{Service: "ranking", DB: s.deps.DB, List: userTables}
}
