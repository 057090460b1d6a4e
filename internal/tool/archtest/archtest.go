// Package archtest checks the architecture of the repository: imports follow the layers downwards, and the source follows conventions
// that a compiler does not check. It only reads source. No package imports it.
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

// Rules of a repository.
type Rules struct {
	// Module path of the repository.
	Module string
	// Layers, the lowest first. Each layer is a list of folders. Each direct subfolder of such a folder is a component, with everything in
	// it; a folder that has source files itself is also a component. Components may import components of lower layers, and their own
	// packages. A folder that is a separate module is checked only if it is listed here.
	Layers [][]string
	// Generated are the folders of generated code. Every layer may import it, and it is not checked.
	Generated []string
	// Within lists what the components of a layer's folder, or a single component, may import from their own layer.
	Within map[string][]string
	// Never lists what a component must not import from lower layers. Tests are exempt.
	Never map[string][]string
	// Only lists the folders that a component may import, if these are fewer than the layers allow.
	Only map[string][]string
	// Requests are the folders that may make HTTP requests.
	Requests []string
	// Mutable components may have package variables that change.
	Mutable []string
	// Lines, TestLines and FunctionLines are the maximum lengths of a file, of a test file, and of a function outside test code.
	Lines, TestLines, FunctionLines int
	// Words that have no standard meaning in this field, with the word to use instead. Identifiers and comments must not contain them.
	Words map[string]string
}

// file is one parsed source file.
type file struct {
	path      string // from the root, with slashes
	component string // "" if the folder is in no layer
	test      bool
	text      string
	tree      *ast.File
	set       *token.FileSet
}

func (f file) line(at token.Pos) int { return f.set.Position(at).Line }

// Check reads the repository at root and returns each violation, sorted.
func Check(root string, rules Rules) ([]string, error) {
	files, err := load(root, rules)
	if err != nil {
		return nil, err
	}
	var found []string
	report := func(f file, line int, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s:%d: %s", f.path, line, fmt.Sprintf(format, args...)))
	}
	for _, f := range files {
		checkImports(f, rules, report)
		checkConventions(f, rules, report)
		checkWords(f, rules, report)
		checkRequests(f, rules, report)
	}
	found = append(found, checkPackages(files)...)
	slices.Sort(found)
	return slices.Compact(found), nil
}

// isOtherModule reports whether a folder is a separate module that is not listed as a layer.
func isOtherModule(dir, rel string, rules Rules) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil && !slices.ContainsFunc(rules.Layers, func(layer []string) bool { return slices.Contains(layer, rel) })
}

// load parses all hand-written files. It skips generated code, testdata, node_modules, other modules and names that begin with a dot.
func load(root string, rules Rules) (files []file, err error) {
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		name := d.Name()
		if d.IsDir() {
			skip := name == "testdata" || name == "node_modules" || rel == "bin" || rel == "tools" || within(rel, rules.Generated)
			if rel != "." && (skip || strings.HasPrefix(name, ".") || isOtherModule(p, rel, rules)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(p)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // an editor's temporary file
		}
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, p, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		component, _, _ := rules.component(path.Dir(rel))
		files = append(files, file{path: rel, component: component, test: strings.HasSuffix(name, "_test.go"), text: string(text), tree: tree, set: set})
		return nil
	})
	return files, err
}

// component returns the component that a folder belongs to, and the folder and rank of its layer.
func (r Rules) component(dir string) (component, layer string, rank int) {
	for rank, folders := range r.Layers {
		for _, layer := range folders {
			if dir == layer {
				return layer, layer, rank
			}
			if below, ok := strings.CutPrefix(dir, layer+"/"); ok {
				first, _, _ := strings.Cut(below, "/")
				return layer + "/" + first, layer, rank
			}
		}
	}
	return "", "", 0
}

func within(dir string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return dir == f || strings.HasPrefix(dir, f+"/") })
}

type reporter func(f file, line int, format string, args ...any)

// checkImports compares the imports of a file with the layers and the tables.
func checkImports(f file, rules Rules, report reporter) {
	dir := path.Dir(f.path)
	component, layer, rank := rules.component(dir)
	if component == "" {
		report(f, f.line(f.tree.Package), "the folder %s is in no layer", dir)
		return
	}
	for _, spec := range f.tree.Imports {
		target, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), rules.Module+"/")
		if !ours {
			continue
		}
		line := f.line(spec.Pos())
		generated := within(target, rules.Generated)
		if spec.Name != nil && !generated && !(path.Base(target) == "go" && spec.Name.Name != "_" && spec.Name.Name != ".") {
			report(f, line, "%s is imported under another name", target)
		}
		if only, ok := rules.Only[component]; ok && !within(target, append(slices.Clone(only), component)) {
			report(f, line, "%s must not import %s", component, target)
			continue
		}
		if generated {
			continue
		}
		other, _, otherRank := rules.component(target)
		switch {
		case other == "":
			report(f, line, "%s is in no layer", target)
		case other == component:
		case otherRank > rank:
			report(f, line, "%s imports %s, which is in a higher layer", component, other)
		case f.test: // tests combine real components
		case otherRank == rank && !within(target, rules.Within[layer]) && !within(target, rules.Within[component]):
			report(f, line, "%s imports %s, which is in the same layer", component, other)
		case within(target, rules.Never[component]):
			report(f, line, "%s must not import %s", component, other)
		}
	}
}

// checkPackages finds packages without a doc comment, and packages with the same base name.
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
