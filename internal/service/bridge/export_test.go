package bridge

// Limit makes the bounds smaller: of bridges, of links of a group and of a bridge, and of people ever.
func (s *Service) Limit(bridges, links, allLinks, people int64) {
	s.most = limits{bridges, links, allLinks, s.most.userLinks, people}
}

// LimitOfUsers makes the bound of links of a user smaller.
func (s *Service) LimitOfUsers(links int64) { s.most.userLinks = links }
