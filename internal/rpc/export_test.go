package rpc

// Calls gives who may make each call: "users", "anyone" or "servers".
func (s *Server) Calls() map[string]string {
	list := map[string]string{}
	for name, m := range s.methods {
		list[name] = [...]string{users: "users", anyone: "anyone", servers: "servers"}[m.who]
	}
	return list
}

// Share of an address's attempts that is one node's.
func Share(nodes int) int { return (&strangers{nodes: func() int { return nodes }}).share() }
