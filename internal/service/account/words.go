package account

import accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"

// checkWords checks the words of a name and of a bio.
func (s *Service) checkWords(texts ...string) (flagged string, err error) {
	if s.deps.CheckText == nil {
		return "", nil
	}
	return s.deps.CheckText(texts...)
}

// flagged returns a function that says that a user has a word that flags the profile.
func (s *Service) flagged(word string) func(*accountv1.User, error) (*accountv1.User, error) {
	return func(u *accountv1.User, err error) (*accountv1.User, error) {
		if err == nil && word != "" && s.deps.Flagged != nil {
			s.deps.Flagged(u, word)
		}
		return u, err
	}
}
