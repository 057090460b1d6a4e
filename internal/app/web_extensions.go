package app

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/web"
)

const (
	// webExtensionsPath is where the files of the operator's extensions are, below a folder that is named for their content.
	webExtensionsPath = "extensions/"
	// webExtensionsMain is the module that the web app loads.
	webExtensionsMain = "index.js"

	maxWebExtensionFiles = 100
	maxWebExtensionBytes = 16 << 20 // of all files; they are kept in memory
)

// webExtensionFile is what a file of an extension may be named: what needs no escaping in an address.
var webExtensionFile = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`)

// webExtensions are JavaScript modules of the operator that the web app runs, with the files that they use.
type webExtensions struct {
	files map[string]*webFile // by path, without the slash before it
	paths []string            // of the files; that of webExtensionsMain is the first
}

// openWebExtensions reads the folder of web.extensions; empty: there are none.
func openWebExtensions(dir string) (*webExtensions, error) {
	if dir == "" {
		return nil, nil
	}
	e, err := loadWebExtensions(os.DirFS(dir))
	if err != nil {
		return nil, fmt.Errorf("web.extensions: %s: %w", dir, err)
	}
	if dist, built := web.Files(); built {
		if _, err := e.addTo(loadWebFiles(dist)["index.html"]); err != nil {
			return nil, fmt.Errorf("web.extensions: %w", err)
		}
	}
	return e, nil
}

// loadWebExtensions reads all files of a folder. Hidden files are left out. The error says what the operator has to change.
func loadWebExtensions(dir fs.FS) (*webExtensions, error) {
	contents, total := map[string][]byte{}, 0
	err := fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(d.Name(), "."): // also the folders of a volume of Kubernetes, to which its visible files link
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		case !webExtensionFile.MatchString(name):
			return fmt.Errorf("rename %q: a name has letters, digits, dots, hyphens and underscores", name)
		case contentTypeOf(name) == "" || strings.HasSuffix(name, ".html"):
			return fmt.Errorf("remove %q: files of its type are not served", name)
		}
		contents[name], err = readWebExtension(dir, name)
		if total += len(contents[name]); err == nil && (len(contents) > maxWebExtensionFiles || total > maxWebExtensionBytes) {
			err = fmt.Errorf("there may be %d files with %d MiB", maxWebExtensionFiles, maxWebExtensionBytes>>20)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if contents[webExtensionsMain] == nil {
		return nil, errors.New("there is no " + webExtensionsMain)
	}
	return newWebExtensions(contents), nil
}

// readWebExtension reads a file, but not much more of it than there may be of all.
func readWebExtension(dir fs.FS, name string) ([]byte, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxWebExtensionBytes+1))
	return b, errors.Join(err, f.Close())
}

// newWebExtensions gives files addresses with a hash of all contents: a module imports others by relative paths, and gets those of its own version.
func newWebExtensions(contents map[string][]byte) *webExtensions {
	names := []string{webExtensionsMain}
	for name := range contents {
		if name != webExtensionsMain {
			names = append(names, name)
		}
	}
	slices.Sort(names[1:])
	hash := sha256.New()
	for _, name := range names {
		fmt.Fprintf(hash, "%s %d\n%s", name, len(contents[name]), contents[name])
	}
	folder := webExtensionsPath + hex.EncodeToString(hash.Sum(nil)[:8]) + "/"
	e := &webExtensions{files: map[string]*webFile{}}
	for _, name := range names {
		open := func() (io.ReadSeeker, error) { return bytes.NewReader(contents[name]), nil }
		f := newWebFile(contentTypeOf(name), open, open)
		f.cacheControl = immutable
		e.files[folder+name], e.paths = f, append(e.paths, "/"+folder+name)
	}
	return e
}

// addTo returns the app's page with a tag that names the files. The page is small: it is served without a compressed form.
func (e *webExtensions) addTo(page *webFile) (*webFile, error) {
	r, err := page.plain()
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	before, after, ok := bytes.Cut(b, []byte("</head>"))
	if !ok {
		return nil, errors.New("the page of the build has no head")
	}
	tag := `<meta name="extensions" content="` + html.EscapeString(strings.Join(e.paths, " ")) + `">`
	whole := slices.Concat(before, []byte(tag+"</head>"), after)
	open := func() (io.ReadSeeker, error) { return bytes.NewReader(whole), nil }
	return newWebFile(page.contentType, open, open), nil
}
