package importer

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestNumbersAreNotNestedDeeply: a number has at most the two objects around it that MongoDB writes. Each is read again for the one within it.
func TestNumbersAreNotNestedDeeply(t *testing.T) {
	for text, want := range map[string]number{
		`{"$date":{"$numberLong":"1600000000000"}}`: 1_600_000_000_000,
		`{"$numberInt":"7"}`:                        7,
	} {
		var n number
		if err := json.Unmarshal([]byte(text), &n); err != nil || n != want {
			t.Errorf("%s was read as %d, %v", text, n, err)
		}
	}
	const depth = 100
	var n number
	if err := json.Unmarshal([]byte(strings.Repeat(`{"$numberLong":`, depth)+"1"+strings.Repeat("}", depth)), &n); err == nil {
		t.Errorf("a number in %d objects was read as %d", depth, n)
	}
}
