package archtest_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// docs/decisions/0019-dependencies.md gives a reason for each dependency, and lists no others: Go modules that the code imports, and npm
// packages of the app and the SDK, and artefacts of the SDK for Kotlin.
func TestEachDependencyHasAReason(t *testing.T) {
	read := func(name string) []byte {
		text, err := os.ReadFile("../../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	said := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?`) \\|").FindAllSubmatch(read("docs/decisions/0019-dependencies.md"), -1) {
		for name := range strings.SplitSeq(string(row[1]), ", ") {
			said[strings.Trim(name, "`")] = true
		}
	}
	used := map[string]bool{}
	for _, name := range []string{"go.mod", "sdk/go/go.mod", "bridges/go.mod"} {
		for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllSubmatch(read(name), -1) { // indirect ones have a comment
			used[string(m[1])] = true
		}
	}
	delete(used, "github.com/rialto-im/rialto/sdk/go") // of this repository
	for _, name := range []string{"web/package.json", "sdk/ts/package.json"} {
		var p struct{ Dependencies, DevDependencies map[string]string }
		if err := json.Unmarshal(read(name), &p); err != nil {
			t.Fatal(err)
		}
		for _, list := range []map[string]string{p.Dependencies, p.DevDependencies} {
			for dependency := range list {
				used[dependency] = true
			}
		}
	}
	for _, name := range []string{"sdk/kotlin/client/pom.xml", "sdk/kotlin/android/pom.xml"} {
		for _, m := range regexp.MustCompile(`<dependency>\s*<groupId>(\S+)</groupId>\s*<artifactId>(\S+)</artifactId>`).FindAllSubmatch(read(name), -1) {
			if group := string(m[1]); group != "im.rialto" { // of this repository
				used[group+":"+string(m[2])] = true
			}
		}
	}
	for name := range used {
		if !said[name] {
			t.Errorf("docs/decisions/0019-dependencies.md gives no reason for %s", name)
		}
	}
	for name := range said {
		if !used[name] {
			t.Errorf("docs/decisions/0019-dependencies.md has %s, which nothing uses", name)
		}
	}
}
