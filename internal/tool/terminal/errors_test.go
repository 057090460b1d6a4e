package terminal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestErrorsHaveBothLanguages: each error of the client has a form in Chinese, of the same values, and there is no other one.
func TestErrorsHaveBothLanguages(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	verb := regexp.MustCompile(`%(?:%|[a-z])`)
	used := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || name == "errors.go" {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if s, ok := call.Fun.(*ast.SelectorExpr); ok {
				if of, ok := s.X.(*ast.Ident); ok && (of.Name == "errors" && s.Sel.Name == "New" || of.Name == "fmt" && s.Sel.Name == "Errorf") {
					t.Errorf("%s makes an error in English only: use errorf", name)
				}
			}
			if f, ok := call.Fun.(*ast.Ident); !ok || f.Name != "errorf" {
				return true
			}
			literal, ok := call.Args[0].(*ast.BasicLit)
			if !ok {
				t.Errorf("%s has an error whose format is no literal", name)
				return true
			}
			english, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			used[english] = true
			if chinese := chineseErrors[english]; chinese == "" || !slices.Equal(verb.FindAllString(chinese, -1), verb.FindAllString(english, -1)) {
				t.Errorf("%q is %q in Chinese", english, chinese)
			}
			return true
		})
	}
	for english := range chineseErrors {
		if !used[english] {
			t.Errorf("no error is %q", english)
		}
	}
	if len(used) < 100 {
		t.Errorf("%d errors were found", len(used))
	}
}
