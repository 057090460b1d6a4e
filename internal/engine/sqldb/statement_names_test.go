package sqldb

import "testing"

func TestStatementsHaveNames(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT a, (b) FROM users u WHERE x = $1":                "SELECT users",
		"\n\tinsert into push_attempts(owner) VALUES ($1)":       "INSERT push_attempts",
		"UPDATE job_rows SET x = 1":                              "UPDATE job_rows",
		"DELETE FROM a WHERE b IN (SELECT c FROM d)":             "DELETE a",
		"SELECT x FROM (SELECT y FROM inner_table) AS z":         "SELECT inner_table",
		"WITH due AS (SELECT n FROM jobs) UPDATE jobs SET x = 1": "WITH jobs",
		"SELECT 1":         "SELECT",
		"":                 "",
		"SAVEPOINT writer": "SAVEPOINT",
		"SELECT 'a secret text' WHERE x = 'FROM here'":         "SELECT",
		"BEGIN ISOLATION LEVEL SERIALIZABLE; SAVEPOINT writer": "BEGIN",
		"SELECT max(n) FROM Things":                            "SELECT",
	} {
		if got := summaryOf(query); got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
}
