package archtest

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// Unfinished work belongs in an issue, not in a comment. An absolute path of one machine does not exist on others.
var (
	unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX)\b`)
	machine    = regexp.MustCompile(`(^|[^\w.])/(work|tmp|root|home)/`)
)

// checkConventions checks the conventions of CONTRIBUTING.md in a file.
func checkConventions(f file, rules Rules, report reporter) {
	lines := strings.Count(f.text, "\n")
	if most := rules.Lines; !f.test && lines > most {
		report(f, f.line(f.tree.Package), "%d lines; a file has at most %d", lines, most)
	} else if most := rules.TestLines; f.test && lines > most {
		report(f, f.line(f.tree.Package), "%d lines; a test file has at most %d", lines, most)
	}
	for i, line := range strings.Split(f.text, "\n") {
		if m := unfinished.FindString(line); m != "" {
			report(f, i+1, "%s: open an issue", m)
		}
		if m := machine.FindString(line); m != "" {
			report(f, i+1, "%s is a path of one machine; derive it, or take it from the environment", strings.TrimSpace(m))
		}
	}
	bubble := slices.ContainsFunc(f.tree.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == `"testing/synctest"` })
	for _, decl := range f.tree.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == "init" && d.Recv == nil {
				report(f, f.line(d.Pos()), "init runs implicitly; construct in New")
			}
			if first, last := f.line(d.Pos()), f.line(d.End()); !isTestCode(f) && last-first+1 > rules.FunctionLines {
				report(f, first, "%s has %d lines; a function has at most %d", d.Name.Name, last-first+1, rules.FunctionLines)
			}
			if !slices.Contains(rules.Mutable, f.component) {
				checkAssignments(f, d, globals(f), report)
			}
		case *ast.GenDecl:
			if !slices.Contains(rules.Mutable, f.component) {
				checkGlobals(f, d, report)
			}
		}
	}
	if !f.test {
		return
	}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		if d, ok := n.(*ast.FuncDecl); ok && strings.HasPrefix(d.Name.Name, "Benchmark") {
			return false // a benchmark asserts nothing and may wait for a quiet machine
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		s, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, _ := s.X.(*ast.Ident)
		switch {
		case x == nil:
		case x.Name == "time" && s.Sel.Name == "Sleep" && !bubble:
			report(f, f.line(call.Pos()), "a test that sleeps is slow or unreliable; wait for the event, or use testing/synctest")
		case (x.Name == "t" || x.Name == "b" || x.Name == "f") && (s.Sel.Name == "Skip" || s.Sel.Name == "Skipf" || s.Sel.Name == "SkipNow"):
			report(f, f.line(call.Pos()), "a skipped test proves nothing; let it fail, or select it by a build tag")
		}
		return true
	})
}

// isTestCode reports whether a file is a test, or contains a suite or fixture that tests share.
func isTestCode(f file) bool {
	return f.test || slices.ContainsFunc(f.tree.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == `"testing"` })
}

// checkGlobals finds package variables without a value: some code must assign them later.
func checkGlobals(f file, d *ast.GenDecl, report reporter) {
	if d.Tok != token.VAR || f.test {
		return
	}
	for _, spec := range d.Specs {
		v := spec.(*ast.ValueSpec)
		embedded := d.Doc != nil && strings.Contains(d.Doc.List[len(d.Doc.List)-1].Text, "//go:embed")
		if len(v.Values) == 0 && !embedded {
			report(f, f.line(v.Pos()), "the package variable %s has no initial value, so some code assigns it later", v.Names[0].Name)
		}
	}
}

// globals returns the names of a file's package variables.
func globals(f file) map[string]bool {
	names := map[string]bool{}
	for _, decl := range f.tree.Decls {
		if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.VAR {
			for _, spec := range d.Specs {
				for _, n := range spec.(*ast.ValueSpec).Names {
					names[n.Name] = true
				}
			}
		}
	}
	return names
}

// checkAssignments finds assignments to the file's package variables. Names that the function declares shadow them.
func checkAssignments(f file, d *ast.FuncDecl, global map[string]bool, report reporter) {
	if len(global) == 0 || f.test {
		return
	}
	local := map[string]bool{}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				local[name.Name] = true
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				local[name.Name] = true
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					local[e.(*ast.Ident).Name] = true
				}
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if name, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					local[name.Name] = true
				}
			}
		}
		return true
	})
	written := func(e ast.Expr) {
		if name := rootOf(e); name != "" && global[name] && !local[name] {
			report(f, f.line(e.Pos()), "the package variable %s is changed", name)
		}
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, e := range n.Lhs {
					written(e)
				}
			}
		case *ast.IncDecStmt:
			written(n.X)
		}
		return true
	})
}

// rootOf returns the variable that an expression belongs to: x for x, x.f, x[i] and *x.
func rootOf(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x.Name
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return ""
		}
	}
}
