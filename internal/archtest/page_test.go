package archtest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func architecture(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// TestThePageHasEachRoomOnItsFloor: each room that exists, and nothing that does not.
func TestThePageHasEachRoomOnItsFloor(t *testing.T) {
	floors := house().Floors
	said := map[string]int{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\d) \| (.*) \|$`).FindAllStringSubmatch(architecture(t), -1) {
		for _, name := range regexp.MustCompile("`([a-z]+)`").FindAllStringSubmatch(row[2], -1) {
			said[name[1]] = int(row[1][0] - '0')
		}
	}
	rooms, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rooms {
		floor, ok := said[r.Name()]
		if !ok || floor != max(floors["internal/"+r.Name()], 0) {
			t.Errorf("docs/architecture.md has %s on floor %d (%v); it stands on %d", r.Name(), floor, ok, floors["internal/"+r.Name()])
		}
		delete(said, r.Name())
	}
	for name, floor := range said {
		parts, err := filepath.Glob("../*/" + name)
		if err != nil || len(parts) != 1 || floors["internal/"+filepath.Base(filepath.Dir(parts[0]))] != floor {
			t.Errorf("docs/architecture.md has %s on floor %d, where no room has such a part", name, floor)
		}
	}
}

// TestTheWalkNamesWhatIsThere: each step of the walk is a function in the file that the page names.
func TestTheWalkNamesWhatIsThere(t *testing.T) {
	steps := regexp.MustCompile(`(?m)^ *(\w+)\.\(\*(\w+)\)\.(\w+) +(\w+\.go) `).FindAllStringSubmatch(architecture(t), -1)
	if len(steps) < 10 {
		t.Fatalf("the walk has %d steps", len(steps))
	}
	for _, s := range steps {
		files, err := filepath.Glob("../" + s[1] + "/" + s[4])
		deeper, err2 := filepath.Glob("../*/" + s[1] + "/" + s[4])
		if files = slices.Concat(files, deeper); err != nil || err2 != nil || len(files) != 1 {
			t.Errorf("%s: %v", s[0], files)
			continue
		}
		text, err := os.ReadFile(files[0])
		if err != nil || !strings.Contains(string(text), " *"+s[2]+") "+s[3]+"(") {
			t.Errorf("%s has no (*%s).%s: %v", files[0], s[2], s[3], err)
		}
	}
}
