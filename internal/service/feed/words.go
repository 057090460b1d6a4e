package feed

import feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"

// Words is the filter of words for the texts of posts. Its methods do not block.
type Words interface {
	// CheckText fails if texts have a word that is refused, and returns a word that flags them, or "".
	CheckText(texts ...string) (flagged string, err error)
	// FlagPost says that a post was stored with such a word.
	FlagPost(p *feedv1.Post, word string)
}

// checkWords checks the words of a post.
func (s *Service) checkWords(c *feedv1.PostContent) (flagged string, err error) {
	if s.deps.Words == nil {
		return "", nil
	}
	texts := []string{c.Title, c.Text}
	for _, g := range c.Goods {
		texts = append(texts, g.Name)
	}
	return s.deps.Words.CheckText(texts...)
}

// flagged returns a post that was stored, after it has flagged it if it has a word that does so.
func (s *Service) flagged(p *feedv1.Post, err error) (*feedv1.Post, error) {
	if err != nil {
		return nil, err
	}
	if word, refused := s.checkWords(p.Content); refused == nil && word != "" {
		s.deps.Words.FlagPost(p, word)
	}
	return p, nil
}
