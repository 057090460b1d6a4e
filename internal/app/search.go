package app

import "github.com/rialto-im/rialto/internal/service/search"

// openSearch makes the service of search.
func (n *Node) openSearch() {
	n.search = search.New(search.Deps{Accounts: n.accounts})
}
