package archtest

import (
	"go/ast"
	"slices"
	"strings"
)

// checkRequests finds HTTP clients outside the folders that may have one. All other code must use those folders, so that each request is
// bounded and its address is checked.
func checkRequests(f file, rules Rules, report reporter) {
	may := func(folder string) bool { return strings.HasPrefix(f.path, folder+"/") }
	if f.test || slices.ContainsFunc(rules.Requests, may) {
		return
	}
	clients := []string{"DefaultClient", "DefaultTransport", "Client", "Transport", "Get", "Head", "Post", "PostForm"}
	imported := slices.ContainsFunc(f.tree.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == `"net/http"` })
	ast.Inspect(f.tree, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok || !imported {
			return true
		}
		if x, _ := s.X.(*ast.Ident); x != nil && x.Name == "http" && slices.Contains(clients, s.Sel.Name) {
			report(f, f.line(s.Pos()), "http.%s: only internal/base/egress makes requests to other servers", s.Sel.Name)
		}
		return true
	})
}
