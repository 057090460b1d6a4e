package sqldb_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/sqldb"
)

// TestEachStatementIsTaken: each migration and each statement that stands in a room's source, by both databases. What is put in
// while the server runs (a list of placeholders, a condition) is NULL here.
func TestEachStatementIsTaken(t *testing.T) {
	dirs, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	var rooms []*source
	total := 0
	for _, d := range dirs {
		if !d.IsDir() || d.Name() == "sqldb" || slices.Contains([]string{"move", "chaos"}, d.Name()) { // which speak to each in its own words
			continue
		}
		s := readSource(t, d.Name())
		rooms = append(rooms, s)
		total += len(s.statements)
	}
	if total < 50 { // there are more; a reader that finds none would be content with all
		t.Fatalf("%d statements were found in all rooms", total)
	}
	onBoth(t, func(t *testing.T, place string) {
		db, err := sqldb.Open(t.Context(), place)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, s := range rooms {
			for i, steps := range s.migrations {
				if err := db.Migrate(t.Context(), fmt.Sprint(s.room, i), steps); err != nil {
					t.Error(err)
				}
			}
			for _, at := range slices.Sorted(maps.Keys(s.statements)) {
				text := s.statements[at]
				prepared, err := db.Read().PrepareContext(t.Context(), text)
				if err == nil {
					err = prepared.Close()
				}
				if err != nil {
					t.Errorf("%s: %v\n%s", at, err, text)
				}
			}
		}
	})
}

// source of a room, as far as it is SQL.
type source struct {
	room       string
	constants  map[string]string
	migrations [][]string
	statements map[string]string // by place
}

func readSource(t *testing.T, room string) *source {
	t.Helper()
	s := &source{room: room, constants: map[string]string{}, statements: map[string]string{}}
	paths, err := filepath.Glob(filepath.Join("..", room, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Names) == 1 && len(spec.Values) == 1 {
				if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					s.constants[spec.Names[0].Name] = unquoted(lit)
				}
			}
			if name, begins := beginning(n); begins != "" {
				s.constants[name] = begins
			}
			return true
		})
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool { return s.look(set, n) })
	}
	return s
}

// beginning of statements that a function keeps in a variable: it ends with a space.
func beginning(n ast.Node) (name, text string) {
	a, ok := n.(*ast.AssignStmt)
	if !ok || a.Tok != token.DEFINE || len(a.Lhs) != 1 {
		return "", ""
	}
	lit, ok := a.Rhs[0].(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING || !strings.HasSuffix(unquoted(lit), " ") {
		return "", ""
	}
	return a.Lhs[0].(*ast.Ident).Name, unquoted(lit)
}

func unquoted(lit *ast.BasicLit) string {
	text, _ := strconv.Unquote(lit.Value) // the parser has taken it
	return text
}

var (
	statement = regexp.MustCompile(`^(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH)\s`)
	migration = regexp.MustCompile(`^(CREATE|ALTER) `)
	// rows that are put in while the server runs, after their columns.
	rows = regexp.MustCompile(`\([^()]*\) VALUES NULL`)
	// ofMoves is asked of PostgreSQL alone, of a table that internal/move makes.
	ofMoves = regexp.MustCompile(`FROM (pg_tables|moves) WHERE`)
)

// look takes what is SQL, and tells whether to look inside.
func (s *source) look(set *token.FileSet, n ast.Node) bool {
	if list, ok := n.(*ast.CompositeLit); ok && len(list.Elts) > 0 {
		if first, ok := list.Elts[0].(*ast.BasicLit); ok && migration.MatchString(unquoted(first)) {
			var steps []string
			for _, e := range list.Elts {
				steps = append(steps, s.text(e))
			}
			s.migrations = append(s.migrations, steps)
			return false
		}
	}
	if lit, ok := n.(*ast.BasicLit); ok && strings.HasSuffix(unquoted(lit), " ") { // it goes on where it is used
		return false
	}
	e, ok := n.(ast.Expr)
	if !ok {
		return true
	}
	switch e.(type) {
	case *ast.BasicLit, *ast.BinaryExpr:
		if text := s.text(e); statement.MatchString(text) && !ofMoves.MatchString(text) {
			text = rows.ReplaceAllStringFunc(text, func(m string) string {
				return strings.Replace(m, "NULL", "(NULL"+strings.Repeat(", NULL", strings.Count(m, ","))+")", 1)
			})
			s.statements[fmt.Sprint(set.Position(e.Pos()))] = text
			return false
		}
	}
	return true
}

// text of an expression; NULL for what is not known before it runs.
func (s *source) text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			return unquoted(e)
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return s.text(e.X) + s.text(e.Y)
		}
	case *ast.Ident:
		if text, ok := s.constants[e.Name]; ok {
			return text
		}
	}
	return "NULL"
}
