package interchangefile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/tool/interchangefile"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// entries reads all entries of a directory.
func entries(t *testing.T, dir string) (list []interchangefile.Entry) {
	t.Helper()
	r, err := interchangefile.Open(dir)
	must(t, err)
	from, err := r.Entries(0)
	must(t, err)
	defer from.Close()
	for {
		var e interchangefile.Entry
		err := from.Decode(&e)
		if errors.Is(err, io.EOF) {
			return list
		}
		must(t, err)
		list = append(list, e)
	}
}

// TestGoldenDirectory: the example of docs/formats/interchange.md is read and written as it stands there.
func TestGoldenDirectory(t *testing.T) {
	page, err := os.ReadFile("../../../docs/formats/interchange.md")
	must(t, err)
	_, example, _ := strings.Cut(string(page), "```json\n")
	example, _, _ = strings.Cut(example, "```")
	dir := t.TempDir()
	w, err := interchangefile.Create(t.Context(), dir, "test", time.Now())
	must(t, err)
	must(t, w.Conversation(interchangefile.Conversation{ID: "C1", Kind: interchangefile.Group, Owner: "slack:U1", Members: []string{"slack:U2"}}))
	for line := range strings.Lines(example) {
		var e interchangefile.Entry
		must(t, json.Unmarshal([]byte(line), &e))
		must(t, w.Entry("the page", e))
	}
	_, err = w.Close()
	must(t, err)
	written, err := os.ReadFile(filepath.Join(dir, "messages.jsonl"))
	must(t, err)
	if string(written) != example {
		t.Errorf("the example is written as\n%s\nwant\n%s", written, example)
	}
}

// TestManyEntriesAreSortedOnDisk: entries that do not fit into memory are in the order of conversations and times, and equal times keep their order.
func TestManyEntriesAreSortedOnDisk(t *testing.T) {
	dir := t.TempDir()
	w, err := interchangefile.Create(t.Context(), dir, "test", time.Now())
	must(t, err)
	interchangefile.SetSortBytes(w, 4000)
	for _, c := range []interchangefile.Conversation{{ID: "t", Kind: interchangefile.Thread, Owner: "u", Parent: "a", Root: "a1"}, {ID: "a", Kind: interchangefile.Group, Owner: "u"}, {ID: "b", Kind: interchangefile.Group, Owner: "u"}} {
		must(t, w.Conversation(c))
	}
	const begin = 1_600_000_000_000
	for i := range 600 {
		c := []string{"t", "b", "a"}[i%3]
		must(t, w.Entry("", interchangefile.Entry{Conversation: c, ID: fmt.Sprintf("%s%d", c, i), TimeMs: begin + int64((600-i)/20), Sender: "u", Kind: interchangefile.Text, Text: "x"}))
	}
	_, err = w.Close()
	must(t, err)
	list := entries(t, dir)
	if len(list) != 600 {
		t.Fatalf("%d entries", len(list))
	}
	for i, e := range list {
		if want := []string{"a", "b", "t"}[i/200]; e.Conversation != want {
			t.Fatalf("entry %d is of conversation %s, want %s", i, e.Conversation, want)
		}
		if i%200 == 0 {
			continue
		}
		before := list[i-1]
		var n, m int
		_, err1 := fmt.Sscanf(e.ID[1:], "%d", &n)
		_, err2 := fmt.Sscanf(before.ID[1:], "%d", &m)
		if err := errors.Join(err1, err2); err != nil || e.TimeMs < before.TimeMs || e.TimeMs == before.TimeMs && n < m {
			t.Errorf("%s at %d follows %s at %d: %v", e.ID, e.TimeMs, before.ID, before.TimeMs, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "sort-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("the files of the sort are left: %q, %v", left, err)
	}
}

// TestLinesThatCannotBeRead: a line that is too long, or broken, is named by its number, and the next ones are read.
func TestLinesThatCannotBeRead(t *testing.T) {
	text := "{\"a\":1}\n\n" + strings.Repeat("x", interchangefile.MaxLine+1) + "\n{\"a\":\xff}\n{broken\n{\"a\":2}"
	lines := interchangefile.NewLines("f", strings.NewReader(text))
	var got []string
	for {
		var v struct{ A int }
		err := lines.Decode(&v)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			got = append(got, strings.SplitN(err.Error(), " ", 2)[0])
			continue
		}
		got = append(got, fmt.Sprint(v.A))
	}
	if want := "1 f:3: f:4: f:5: 2"; strings.Join(got, " ") != want {
		t.Errorf("lines: %q, want %q", got, want)
	}
}

// TestAnAppenderContinuesWhereItWas: what was written after a position is written again, once.
func TestAnAppenderContinuesWhereItWas(t *testing.T) {
	dir := t.TempDir()
	a, err := interchangefile.Append(dir, interchangefile.Position{})
	must(t, err)
	c := &interchangefile.Conversation{ID: "c", Kind: interchangefile.Group, Owner: "u"}
	entry := func(a *interchangefile.Appender, id string) {
		must(t, a.Entry(c, &interchangefile.Entry{Conversation: "c", ID: id, TimeMs: 1, Sender: "u", Kind: interchangefile.Text, Text: "x"}))
	}
	entry(a, "1")
	at, err := a.Position()
	must(t, err)
	entry(a, "2")
	_, err = a.Position() // flushed, but nobody has noted it
	must(t, err)
	c.Entries, c.Messages = 1, 1
	if a, err = interchangefile.Append(dir, at); err != nil {
		t.Fatal(err)
	}
	path, err := a.StoreFile(strings.NewReader("bytes"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "files", "new"), []byte("interrupted"), 0o600))
	entry(a, "2")
	must(t, a.Conversation(c))
	m, err := a.Close("rialto", time.Now())
	must(t, err)
	if list := entries(t, dir); len(list) != 2 || list[1].ID != "2" || m.Counts.Messages != 2 || m.Counts.Files != 1 || !strings.HasPrefix(path, "files/27/27") {
		t.Errorf("entries %v, counts %+v, file %s", list, m.Counts, path)
	}
	if _, err := interchangefile.Append(dir, at); err == nil {
		t.Error("a complete export is continued")
	}
}
