package blobtest

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/engine/blob"
)

// listed lists a folder by pages of a size, and calls between after each page. It returns the sizes of the files by key, and how often the most frequent one was listed.
func listed(t *testing.T, s blob.Store, folder string, limit int, between func(page int)) (sizes map[string]int64, times int) {
	t.Helper()
	sizes = map[string]int64{}
	seen := map[string]int{}
	for at, n := "", 1; ; n++ {
		page, err := s.List(t.Context(), folder, at, limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Files) > limit {
			t.Errorf("a page of %d files has %d", limit, len(page.Files))
		}
		for _, f := range page.Files {
			sizes[f.Key] = f.Size
			seen[f.Key]++
			times = max(times, seen[f.Key])
			if age := time.Since(f.Modified); age < -time.Hour || age > time.Hour {
				t.Errorf("%s was stored %v ago", f.Key, age)
			}
		}
		if at = page.Next; at == "" {
			return sizes, times
		}
		if between != nil {
			between(n)
		}
	}
}

// lists: each file of a folder is on one page, whatever the size of pages, and no other file is. Files that come and go meanwhile change nothing for the others. A page that is asked for again has the files behind it.
func lists(t *testing.T, s blob.Store) {
	want := map[string]int64{}
	for i := range 40 {
		key := fmt.Sprintf("media/%02d/%d", i%7, 1000+i)
		if i%3 == 0 {
			key = fmt.Sprintf("media/%02d/%d/part-%d", 10+i%2, i%4, i)
		}
		put(t, s, key, make([]byte, i))
		want[key] = int64(i)
	}
	put(t, s, "media/file", nil)
	want["media/file"] = 0
	for _, other := range []string{"media2/a", "med", "other/media/b"} {
		put(t, s, other, []byte("x"))
	}
	for _, limit := range []int{1, 3, 40, 1000} {
		if got, times := listed(t, s, "media", limit, nil); !maps.Equal(got, want) || times != 1 {
			t.Errorf("in pages of %d the files are %v, up to %d times, want %v once", limit, got, times, want)
		}
	}
	got, _ := listed(t, s, "media", 3, func(page int) {
		put(t, s, fmt.Sprintf("media/new/%d", page), nil)
		if err := s.Delete(t.Context(), fmt.Sprintf("media/new/%d", page-1)); err != nil {
			t.Error(err)
		}
	})
	for key, size := range want {
		if n, ok := got[key]; !ok || n != size {
			t.Errorf("%s is not listed while other files come and go", key)
		}
	}
	first, err := s.List(t.Context(), "media", "", 5)
	if err != nil {
		t.Fatal(err)
	}
	rest := map[string]int64{}
	for range 2 { // the second time from the middle, which is not the next page
		clear(rest)
		for at := first.Next; at != ""; {
			page, err := s.List(t.Context(), "media", at, 4)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range page.Files {
				rest[f.Key] = f.Size
			}
			at = page.Next
		}
		for key := range want {
			if _, ok := rest[key]; !ok && !slices.ContainsFunc(first.Files, func(f blob.File) bool { return f.Key == key }) {
				t.Errorf("%s is not behind the first page", key)
			}
		}
	}
	listFromAnywhere(t, s)
	if got, _ := listed(t, s, "nothing", 10, nil); len(got) != 0 {
		t.Errorf("a folder that does not exist has %v", got)
	}
	if _, err := s.List(t.Context(), "../media", "", 10); err == nil {
		t.Error("a folder that is no key is listed")
	}
}

// listFromAnywhere: a listing may begin at any position of an earlier process, or after a page of another folder.
func listFromAnywhere(t *testing.T, s blob.Store) {
	t.Helper()
	var positions []string
	for at := ""; ; {
		page, err := s.List(t.Context(), "media", at, 1)
		if err != nil {
			t.Fatal(err)
		}
		if at = page.Next; at == "" {
			break
		}
		positions = append(positions, at)
	}
	for _, at := range positions { // of an earlier process, or after another page
		if _, err := s.List(t.Context(), "other", "", 1); err != nil {
			t.Fatal(err)
		}
		if _, err := s.List(t.Context(), "media", at, 1); err != nil {
			t.Errorf("from %q: %v", at, err)
		}
	}
}
