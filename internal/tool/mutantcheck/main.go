// Command mutantcheck type-checks changed Go files of this repository, each with the rest of its package and the tests in that package:
//
//	go run ./internal/tool/mutantcheck <LIST
//
// A line of LIST has a file's path from the root of the repository, a tab, and the path of the file that replaces it. For each one that
// would not compile, it prints the second path, a tab, and the first error. Packages are loaded once, so hundreds of changes are checked
// in seconds.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// module is the path of the module in the root. Those below it, as the Go SDK, have the paths of their folders.
const module = "github.com/rialto-im/rialto"

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutantcheck:", err)
		os.Exit(1)
	}
}

// change replaces a file of the repository.
type change struct{ file, mutated string }

// listed is a package as go list describes it.
type listed struct {
	ImportPath           string
	Dir                  string
	GoFiles, TestGoFiles []string
	Imports, TestImports []string
	Export               string
}

func run(list io.Reader, out io.Writer) error {
	changes, err := readChanges(list)
	if err != nil || len(changes) == 0 {
		return err
	}
	var paths []string
	for _, c := range changes {
		paths = append(paths, path.Join(module, path.Dir(c.file)))
	}
	packages, err := goList(paths, "-json=ImportPath,Dir,GoFiles,TestGoFiles,Imports,TestImports")
	if err != nil {
		return err
	}
	var imports []string
	for _, p := range packages {
		imports = append(append(imports, p.Imports...), p.TestImports...)
	}
	exports, err := goList(imports, "-export", "-deps", "-json=ImportPath,Export")
	if err != nil {
		return err
	}
	for n, failure := range checkAll(changes, packages, exports) {
		if failure != nil {
			if _, err := fmt.Fprintf(out, "%s\t%s\n", changes[n].mutated, strings.ReplaceAll(failure.Error(), "\n", " ")); err != nil {
				return err
			}
		}
	}
	return nil
}

func readChanges(list io.Reader) ([]change, error) {
	var changes []change
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		file, mutated, ok := strings.Cut(lines.Text(), "\t")
		if !ok {
			return nil, fmt.Errorf("the line %q has no tab between the file and its replacement", lines.Text())
		}
		changes = append(changes, change{file, mutated})
	}
	return changes, lines.Err()
}

// goList returns packages by import path.
func goList(paths []string, flags ...string) (map[string]listed, error) {
	slices.Sort(paths)
	var stderr strings.Builder
	cmd := exec.Command("go", slices.Concat([]string{"list"}, flags, []string{"--"}, slices.Compact(paths))...)
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	found := map[string]listed{}
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p listed
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			return nil, fmt.Errorf("the output of go list: %w", err)
		}
		found[p.ImportPath] = p
	}
}

// checkAll returns an error, or nil, for each change. The changes of a package are checked together, by one goroutine for each processor.
func checkAll(changes []change, packages, exports map[string]listed) []error {
	of := map[string][]int{}
	for n, c := range changes {
		p := path.Join(module, path.Dir(c.file))
		of[p] = append(of[p], n)
	}
	failures := make([]error, len(changes)) // each element is written by one goroutine
	queue := make(chan string)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			files := token.NewFileSet()
			w := checker{files: files, importer: importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
				if exports[path].Export == "" {
					return nil, fmt.Errorf("no file that was there before imports %s", path)
				}
				return os.Open(exports[path].Export)
			})}
			for p := range queue {
				for _, n := range of[p] {
					failures[n] = w.check(packages[p], changes[n])
				}
				w.parsed = nil
			}
		})
	}
	for p := range of {
		queue <- p
	}
	close(queue)
	workers.Wait()
	return failures
}

// checker checks changes of one package after another.
type checker struct {
	files    *token.FileSet
	importer types.Importer
	parsed   map[string]*ast.File // the unchanged files of the present package
}

// check returns the first error of a package with a changed file.
func (w *checker) check(p listed, c change) error {
	if !slices.Contains(p.GoFiles, path.Base(c.file)) {
		return fmt.Errorf("%s is not built on this system", c.file)
	}
	var trees []*ast.File
	for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles) {
		tree, err := w.parse(filepath.Join(p.Dir, name))
		if name == path.Base(c.file) {
			tree, err = parser.ParseFile(w.files, c.mutated, nil, parser.SkipObjectResolution)
		}
		if err != nil {
			return err
		}
		trees = append(trees, tree)
	}
	config := types.Config{Importer: w.importer, Sizes: types.SizesFor("gc", runtime.GOARCH)}
	_, err := config.Check(p.ImportPath, w.files, trees, nil)
	return err
}

func (w *checker) parse(file string) (*ast.File, error) {
	if tree := w.parsed[file]; tree != nil {
		return tree, nil
	}
	tree, err := parser.ParseFile(w.files, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if w.parsed == nil {
		w.parsed = map[string]*ast.File{}
	}
	w.parsed[file] = tree
	return tree, nil
}
