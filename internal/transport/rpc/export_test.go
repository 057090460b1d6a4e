package rpc

// Calls returns the access of each call: "users", "anyone" or "servers".
func (s *Server) Calls() map[string]string {
	list := map[string]string{}
	for name, m := range s.methods {
		list[name] = [...]string{userAccess: "users", anonymousAccess: "anyone", serverAccess: "servers"}[m.access]
	}
	return list
}
