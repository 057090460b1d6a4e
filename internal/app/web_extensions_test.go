package app

import (
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
)

func extensionsOf(t *testing.T, files map[string]string) *webExtensions {
	t.Helper()
	dir := fstest.MapFS{}
	for name, content := range files {
		dir[name] = &fstest.MapFile{Data: []byte(content)}
	}
	e, err := loadWebExtensions(dir)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestThePageNamesTheOperatorsExtensions: the page names the files of web.extensions, the one to load first, at addresses that change with the
// contents; browsers keep them, and get no page for one that is not there. Without extensions the page is the build's own.
func TestThePageNamesTheOperatorsExtensions(t *testing.T) {
	t.Parallel()
	serveApp := func(e *webExtensions) http.Handler {
		files := loadWebFiles(fstest.MapFS{"index.html": {Data: []byte("<html><head></head></html>")}, "index.html.gz": {Data: []byte("page without extensions")}})
		return servePages(files, true, func() []string { return nil }, e)
	}
	e := extensionsOf(t, map[string]string{"index.js": "import './a/poll.js'", "a/poll.js": "let poll", "a/poll.css": "p{}", ".git/x": "hidden", "..data": "hidden"})
	if len(e.paths) != 3 || !strings.HasSuffix(e.paths[0], "/index.js") || !strings.HasSuffix(e.paths[1], "/a/poll.css") || !strings.HasSuffix(e.paths[2], "/a/poll.js") {
		t.Fatalf("the files are %v", e.paths)
	}
	serve := serveApp(e)
	if page := getPage(serve, "/", "Accept-Encoding", "gzip").Body.String(); page != `<html><head><meta name="extensions" content="`+strings.Join(e.paths, " ")+`"></head></html>` {
		t.Errorf("the page is %s", page)
	}
	w := getPage(serve, e.paths[0])
	if w.Body.String() != "import './a/poll.js'" || w.Header().Get("Content-Type") != "text/javascript; charset=utf-8" || w.Header().Get("Cache-Control") != immutable {
		t.Errorf("the module is %q, with %v", w.Body, w.Header())
	}
	if w := getPage(serve, "/extensions/0123456789abcdef/index.js", "Accept", "text/html"); w.Code != http.StatusNotFound {
		t.Errorf("what is not there is %d", w.Code)
	}
	other := extensionsOf(t, map[string]string{"index.js": "import './a/poll.js'", "a/poll.js": "let other", "a/poll.css": "p{}"})
	if other.paths[0] == e.paths[0] {
		t.Errorf("another version has the address %s too", e.paths[0])
	}
	plain := serveApp(nil)
	if strings.Contains(getPage(plain, "/").Body.String(), "extensions") || getPage(plain, e.paths[0]).Code != http.StatusNotFound {
		t.Error("a server without extensions names or serves some")
	}
}

// TestBadExtensionsAreRefusedAtTheStart: the error says which file is not served, and what to do.
func TestBadExtensionsAreRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	index := &fstest.MapFile{Data: []byte("export default () => {}")}
	many, large := fstest.MapFS{"index.js": index}, fstest.MapFS{"index.js": index, "big.js": {Data: make([]byte, maxWebExtensionBytes)}}
	for i := range maxWebExtensionFiles {
		many[strings.Repeat("a", i+1)+".js"] = index
	}
	for name, test := range map[string]struct {
		dir  fstest.MapFS
		want string
	}{
		"empty":     {fstest.MapFS{}, "there is no index.js"},
		"source":    {fstest.MapFS{"index.js": index, "poll.ts": {}}, `remove "poll.ts"`},
		"page":      {fstest.MapFS{"index.js": index, "page.html": {}}, `remove "page.html"`},
		"with tag":  {fstest.MapFS{"index.js": index, `a"><script>.js`: {}}, "rename"},
		"with room": {fstest.MapFS{"index.js": index, "two words.js": {}}, `rename "two words.js"`},
		"many":      {many, "100 files"},
		"large":     {large, "16 MiB"},
	} {
		if _, err := loadWebExtensions(test.dir); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	if _, err := openWebExtensions(t.TempDir()); err == nil || !strings.HasPrefix(err.Error(), "web.extensions: /") {
		t.Errorf("the error is %v", err)
	}
	if e, err := openWebExtensions(""); e != nil || err != nil {
		t.Errorf("without a folder: %v, %v", e, err)
	}
}
