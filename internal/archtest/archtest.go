// Package archtest is the law of the house as a test: which room stands on which floor, what may touch what, and the habits
// that a compiler does not check. It reads source only, and is imported by nothing.
package archtest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Law is what a repository must obey.
type Law struct {
	// Module path of the repository.
	Module string
	// Floors by the room's folder. A room imports rooms below it, and its own parts.
	Floors map[string]int
	// Never says what a room, but for its tests, must not import although it stands below.
	Never map[string][]string
	// Only says which folders a room may import, where that is less than the floors allow.
	Only map[string][]string
	// Mutable rooms may have package variables that change; each is a reason to think twice.
	Mutable []string
	// Lines that a file may have, and a test file.
	Lines, TestLines int
}

// file is one parsed source file.
type file struct {
	path string // from the root, with slashes
	room string // key of Floors, or ""
	test bool
	text string
	tree *ast.File
	set  *token.FileSet
}

func (f file) line(at token.Pos) int { return f.set.Position(at).Line }

// Check reads the repository at root and gives each breach of the law, sorted.
func Check(root string, law Law) ([]string, error) {
	files, err := load(root, law)
	if err != nil {
		return nil, err
	}
	var found []string
	report := func(f file, line int, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s:%d: %s", f.path, line, fmt.Sprintf(format, args...)))
	}
	for _, f := range files {
		checkImports(f, law, report)
		checkHabits(f, law, report)
	}
	found = append(found, checkPackages(files)...)
	slices.Sort(found)
	return found, nil
}

// isModule says that a folder is a module of its own, which no room can import.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// load parses all files that people write: not gen, testdata, node_modules, other modules or what begins with a dot.
func load(root string, law Law) (files []file, err error) {
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			skip := name == "testdata" || name == "node_modules" || rel == "gen" || rel == "bin" || rel == "tools"
			if rel != "." && (skip || strings.HasPrefix(name, ".") || isModule(p)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(p)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // an editor's file that has gone
		}
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, p, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		room, _ := law.room(path.Dir(rel))
		files = append(files, file{path: rel, room: room, test: strings.HasSuffix(name, "_test.go"), text: string(text), tree: tree, set: set})
		return nil
	})
	return files, err
}

// room that a folder belongs to: the longest key that is the folder or above it.
func (l Law) room(dir string) (room string, floor int) {
	for name, n := range l.Floors {
		if (dir == name || strings.HasPrefix(dir, name+"/")) && len(name) > len(room) {
			room, floor = name, n
		}
	}
	return room, floor
}

func within(dir string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return dir == f || strings.HasPrefix(dir, f+"/") })
}

type reporter func(f file, line int, format string, args ...any)

// checkImports holds one file to the floors and to the tables.
func checkImports(f file, law Law, report reporter) {
	dir := path.Dir(f.path)
	if f.room == "" {
		report(f, f.line(f.tree.Package), "the folder %s stands on no floor; add it to the table", dir)
		return
	}
	for _, spec := range f.tree.Imports {
		target, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), law.Module+"/")
		if !ours {
			continue
		}
		generated := strings.HasPrefix(target, "gen/")
		if spec.Name != nil && !generated && !(path.Base(target) == "go" && spec.Name.Name != "_" && spec.Name.Name != ".") {
			report(f, f.line(spec.Pos()), "%s is imported under another name", target)
		}
		if only, ok := law.Only[f.room]; ok && !within(target, append(slices.Clone(only), f.room)) {
			report(f, f.line(spec.Pos()), "%s may not touch %s", f.room, target)
			continue
		}
		if generated {
			continue
		}
		room, floor := law.room(target)
		_, own := law.room(dir)
		switch {
		case room == "":
			report(f, f.line(spec.Pos()), "%s stands on no floor", target)
		case room == f.room:
			// A room's own parts.
		case floor > own:
			report(f, f.line(spec.Pos()), "%s imports %s, which is a floor above", f.room, room)
		case floor == own:
			report(f, f.line(spec.Pos()), "%s imports %s, which is beside it", f.room, room)
		case !f.test && within(target, law.Never[f.room]): // tests put real rooms together
			report(f, f.line(spec.Pos()), "%s may not touch %s", f.room, room)
		}
	}
}

// checkPackages finds packages without a doc comment, and names that are used twice.
func checkPackages(files []file) (found []string) {
	documented, first := map[string]bool{}, map[string]string{}
	for _, f := range files {
		if f.test {
			continue
		}
		dir := path.Dir(f.path)
		documented[dir] = documented[dir] || f.tree.Doc != nil
		name := path.Base(dir)
		if f.tree.Name.Name == "main" {
			continue // nobody can import it
		}
		if other, ok := first[name]; ok && other != dir {
			found = append(found, fmt.Sprintf("%s: %s has the same base name", dir, other))
		} else {
			first[name] = dir
		}
	}
	for dir, ok := range documented {
		if !ok {
			found = append(found, dir+": the package has no doc comment")
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
