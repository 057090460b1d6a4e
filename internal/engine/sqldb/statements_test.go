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

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// TestBothDatabasesPrepareEachStatement: both databases accept each migration and statement in the services' source. Parts that are only
// known at run time (a list of placeholders, a condition) are NULL here.
func TestBothDatabasesPrepareEachStatement(t *testing.T) {
	dirs, err := filepath.Glob("../../*/*")
	if err != nil {
		t.Fatal(err)
	}
	var sources []*source
	total := 0
	for _, d := range dirs {
		if info, err := os.Stat(d); err != nil {
			t.Fatal(err)
		} else if !info.IsDir() || slices.Contains([]string{"sqldb", "move", "chaos", "lease"}, filepath.Base(d)) {
			// The first three have statements of their own for each database. The users of lease name its tables; its tests run on both.
			continue
		}
		s := readSource(t, d)
		sources = append(sources, s)
		total += len(s.statements)
	}
	if total < 50 { // there are more; a broken parser that finds none would accept everything
		t.Fatalf("%d statements were found in all packages", total)
	}
	onBoth(t, func(t *testing.T, place string) {
		db, err := sqldb.Open(t.Context(), place)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, s := range sources {
			for i, steps := range s.migrations {
				if err := db.Migrate(t.Context(), fmt.Sprint(s.dir, i), steps); err != nil {
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
					t.Errorf("%s: %v in\n%s", at, err, text)
				}
			}
		}
	})
}

// source is the SQL in a package.
type source struct {
	dir        string
	constants  map[string]string
	migrations [][]string
	statements map[string]string // by place
}

func readSource(t *testing.T, dir string) *source {
	t.Helper()
	s := &source{dir: dir, constants: map[string]string{}, statements: map[string]string{}}
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
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
				value := spec.Values[0]
				if call, ok := value.(*ast.CallExpr); ok && len(call.Args) == 1 { // lease.Table("name")
					value = call.Args[0]
				}
				if lit, ok := value.(*ast.BasicLit); ok && lit.Kind == token.STRING {
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
		ast.Inspect(f, func(n ast.Node) bool { return s.inspect(set, n) })
	}
	return s
}

// beginning of statements that are built in a variable: it ends with a space.
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
	// rows that are inserted at run time, after their columns.
	rows = regexp.MustCompile(`\([^()]*\) VALUES NULL`)
	// ofMoves matches statements for PostgreSQL only, about a table that internal/tool/move creates.
	ofMoves = regexp.MustCompile(`FROM (pg_tables|moves) WHERE`)
)

// inspect collects SQL, and reports whether to descend.
func (s *source) inspect(set *token.FileSet, n ast.Node) bool {
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

// text returns the text of an expression, with NULL for parts that are only known at run time.
func (s *source) text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			return unquoted(e)
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			left := s.text(e.X)
			if call, ok := e.Y.(*ast.CallExpr); ok && strings.HasSuffix(left, "$") && len(call.Args) == 1 {
				return left + "1" // the number of a placeholder
			}
			return left + s.text(e.Y)
		}
	case *ast.Ident:
		if text, ok := s.constants[e.Name]; ok {
			return text
		}
	case *ast.CallExpr:
		if of, ok := e.Fun.(*ast.Ident); ok && of.Name == "string" && len(e.Args) == 1 {
			return s.text(e.Args[0])
		}
		if of, ok := e.Fun.(*ast.SelectorExpr); ok && of.Sel.Name == "Create" {
			return createTable(s.text(of.X))
		}
	}
	return "NULL"
}

// createTable is what lease.Table.Create returns for a table. It is read from the source: lease is in a higher layer.
func createTable(name string) string {
	f, err := parser.ParseFile(token.NewFileSet(), "../../platform/lease/row.go", nil, 0)
	if err != nil {
		panic(err)
	}
	text := ""
	ast.Inspect(f, func(n ast.Node) bool {
		if d, ok := n.(*ast.FuncDecl); ok && d.Name.Name == "Create" {
			text = (&source{constants: map[string]string{"t": name}}).text(d.Body.List[0].(*ast.ReturnStmt).Results[0])
		}
		return true
	})
	return text
}
