package apptest_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// document is the part of an OpenAPI document that the test uses.
type document struct {
	Paths map[string]struct {
		Post *struct {
			Security []map[string][]string `json:"security"`
		} `json:"post"`
	} `json:"paths"`
}

// The OpenAPI document matches the calls of the contract, and the credentials that the server requires.
func TestTheServedDocumentIsOfThisServer(t *testing.T) {
	h := apptest.Open(t, nil)
	res, err := h.HTTP.Get(h.URL + "/v1/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil || res.Body.Close() != nil || res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("status %s, header %v, error %v; want 200 with JSON", res.Status, res.Header, err)
	}
	var d document
	var tree map[string]any
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	checkRefs(t, tree, tree)

	contract := map[string]bool{}
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := 0; strings.HasPrefix(string(f.Package()), "rialto.") && i < f.Services().Len(); i++ {
			for s, j := f.Services().Get(i), 0; j < s.Methods().Len(); j++ {
				contract["/"+string(s.FullName())+"/"+string(s.Methods().Get(j).Name())] = true
			}
		}
		return true
	})
	alice := h.Register(t, "alice")
	for _, name := range slices.Sorted(maps.Keys(d.Paths)) {
		post := d.Paths[name].Post
		if post == nil {
			continue
		}
		if !contract[name] {
			t.Errorf("the document has %s, which is not in the contract", name)
		}
		delete(contract, name)
		users := slices.ContainsFunc(post.Security, func(s map[string][]string) bool { _, ok := s["accessToken"]; return ok })
		if got := tell(t, h, name, "") != "no_token"; got != (len(post.Security) == 0) {
			t.Errorf("%s without a token: accepted %v, but the document says %v", name, got, post.Security)
		}
		if strings.HasSuffix(name, "/Logout") {
			continue // it would end the session of the other calls
		}
		refused := []string{"no_key", "no_role", "no_bridge_key"} // a role of a key, in the operators' console; a bridge's key
		if got := !slices.Contains(refused, tell(t, h, name, alice.AccessToken)); got != (users || len(post.Security) == 0) {
			t.Errorf("%s with a user's token: accepted %v, but the document says %v", name, got, post.Security)
		}
	}
	for name := range contract {
		t.Errorf("the document lacks %s", name)
	}
}

// tell makes an empty call, and returns the reason if it is refused.
func tell(t *testing.T, h *apptest.Server, name, token string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+name, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := h.HTTP.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var failure struct {
		Details []struct {
			Debug struct {
				Reason string `json:"reason"`
			} `json:"debug"`
		} `json:"details"`
	}
	if err := json.NewDecoder(res.Body).Decode(&failure); err != nil {
		t.Fatalf("call %s: got %s: %v", name, res.Status, err)
	}
	if res.StatusCode == http.StatusOK || len(failure.Details) == 0 {
		return ""
	}
	return failure.Details[0].Debug.Reason
}

// checkRefs finds references without a target.
func checkRefs(t *testing.T, tree map[string]any, node any) {
	switch n := node.(type) {
	case map[string]any:
		if to, ok := n["$ref"].(string); ok {
			var at any = tree
			for part := range strings.SplitSeq(strings.TrimPrefix(to, "#/"), "/") {
				m, _ := at.(map[string]any)
				at = m[part]
			}
			if at == nil {
				t.Errorf("reference %s has no target", to)
			}
		}
		for _, v := range n {
			checkRefs(t, tree, v)
		}
	case []any:
		for _, v := range n {
			checkRefs(t, tree, v)
		}
	}
}

// The tables of calls and shapes in docs/protocol.md match api/.
func TestTheProtocolPageHasTheContract(t *testing.T) {
	page, err := os.ReadFile("../../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	_, calls, _ := strings.Cut(string(page), "\n## All calls\n")
	calls, shapes, _ := strings.Cut(calls, "\n### Shapes\n")
	said := map[string]bool{}
	service := ""
	for line := range strings.Lines(calls) {
		if strings.HasPrefix(line, "`/") {
			service = strings.Trim(line, "`/\n")
		} else if strings.HasPrefix(line, "| ") {
			said[service+" "+strings.TrimSpace(line)] = true
		}
	}
	for line := range strings.Lines(shapes) {
		said[strings.TrimSpace(line)] = true
	}
	var want []string
	shapesOf, valuesOf := map[protoreflect.FullName]string{}, map[protoreflect.FullName]string{}
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := 0; strings.HasPrefix(string(f.Package()), "rialto.") && i < f.Services().Len(); i++ {
			for s, j := f.Services().Get(i), 0; j < s.Methods().Len(); j++ {
				m := s.Methods().Get(j)
				answer := fieldsOf(m.Output())
				if !strings.HasSuffix(string(m.Output().Name()), "Response") {
					answer = "**" + string(m.Output().Name()) + "**"
					addShape(shapesOf, m.Output())
				} else {
					addShapes(shapesOf, m.Output())
				}
				addShapes(shapesOf, m.Input())
				addValues(valuesOf, map[protoreflect.FullName]bool{}, m.Input())
				addValues(valuesOf, map[protoreflect.FullName]bool{}, m.Output())
				want = append(want, fmt.Sprintf("%s | %s | %s | %s |", s.FullName(), m.Name(), fieldsOf(m.Input()), answer))
			}
		}
		return true
	})
	want = slices.AppendSeq(want, maps.Values(shapesOf))
	want = slices.AppendSeq(want, maps.Values(valuesOf))
	slices.Sort(want)
	for _, line := range want {
		if !said[line] {
			t.Errorf("docs/protocol.md lacks the line %q", line)
		}
	}
}

// docs/protocol.md lists the calls that count as pages.
func TestTheProtocolPageHasThePages(t *testing.T) {
	document, err := os.ReadFile("../../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(document), "the server executes two pages (")
	list, _, closed := strings.Cut(list, ")")
	if !found || !closed {
		t.Fatal("docs/protocol.md has no list of pages behind: the server executes two pages (")
	}
	said := strings.Split(strings.ReplaceAll(list, "`", ""), ", ")
	var pages []string
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			for s, j := f.Services().Get(i), 0; j < s.Methods().Len(); j++ {
				if m := s.Methods().Get(j); outputlimit.IsPage(fmt.Sprintf("/%s/%s", s.FullName(), m.Name())) {
					pages = append(pages, string(m.Name()))
				}
			}
		}
		return true
	})
	slices.Sort(said)
	slices.Sort(pages)
	if !slices.Equal(said, pages) {
		t.Errorf("docs/protocol.md has the pages\n%q, want\n%q", said, pages)
	}
}

// fieldsOf returns the fields of a message, in the format of the page.
func fieldsOf(m protoreflect.MessageDescriptor) string {
	var list []string
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		text := f.JSONName()
		if f.IsList() {
			text += "[]"
		}
		if f.IsMap() {
			text += "{}"
		} else if f.Message() != nil {
			text += ": " + string(f.Message().Name())
		} else if f.Enum() != nil {
			text += ": " + string(f.Enum().Name())
		}
		list = append(list, text)
	}
	return cmp.Or(strings.Join(list, ", "), "–")
}

// addShapes adds the lines of the messages inside a message, by name. Messages may contain each other.
func addShapes(lines map[protoreflect.FullName]string, m protoreflect.MessageDescriptor) {
	for i := range m.Fields().Len() {
		if of := m.Fields().Get(i).Message(); of != nil && !of.IsMapEntry() {
			addShape(lines, of)
		}
	}
}

func addShape(lines map[protoreflect.FullName]string, m protoreflect.MessageDescriptor) {
	if lines[m.FullName()] == "" {
		lines[m.FullName()] = fmt.Sprintf("| %s | %s |", m.Name(), fieldsOf(m))
		addShapes(lines, m)
	}
}

// addValues adds the lines of the enums inside a message, by name. The actions of a Control have a table of their own.
func addValues(lines map[protoreflect.FullName]string, seen map[protoreflect.FullName]bool, m protoreflect.MessageDescriptor) {
	if seen[m.FullName()] {
		return
	}
	seen[m.FullName()] = true
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if of := f.Message(); of != nil {
			addValues(lines, seen, of)
		}
		e := f.Enum()
		if e == nil || e.FullName() == "rialto.chat.v1.Control.Action" {
			continue
		}
		var values []string
		for j := range e.Values().Len() {
			if v := e.Values().Get(j); v.Number() != 0 {
				values = append(values, "`"+string(v.Name())+"`")
			}
		}
		name := strings.TrimPrefix(string(e.FullName()), string(e.ParentFile().Package())+".")
		lines[e.FullName()] = fmt.Sprintf("| %s | %s |", name, strings.Join(values, ", "))
	}
}

// The page of metrics lists exactly those of the admin listener.
func TestTheOperatorsPageHasEachFigure(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operating/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	h := apptest.Open(t, func(c *config.Config) { c.Canary.Off, c.Canary.Interval = false, time.Minute }) // whose figures the page has
	res, err := http.Get("http://" + h.AdminAddress().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil || res.Body.Close() != nil {
		t.Fatal(err)
	}
	names := func(pattern string, text []byte) (list []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
			list = append(list, string(m[1]))
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	given, said := names(`(?m)^# TYPE (rialto_\w+)`, text), names(`\b(rialto_\w+)`, page)
	if !sqltest.OnPostgres() { // a single node has no bus
		said = slices.DeleteFunc(said, func(name string) bool { return strings.HasPrefix(name, "rialto_bus_") })
	}
	// This node has no cache of files. The test of an edge in package app compares its figures.
	said = slices.DeleteFunc(said, func(name string) bool {
		return strings.HasPrefix(name, "rialto_edge_") || strings.HasPrefix(name, "rialto_file_cache_")
	})
	if !slices.Equal(given, said) {
		t.Errorf("metrics of the server: %v,\nin the page: %v", given, said)
	}
}
