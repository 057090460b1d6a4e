package rpc

// Calls gives who may make each call: "users", "anyone" or "servers".
func (s *Server) Calls() map[string]string {
	list := map[string]string{}
	for name, m := range s.methods {
		list[name] = [...]string{users: "users", anyone: "anyone", servers: "servers"}[m.who]
	}
	return list
}
