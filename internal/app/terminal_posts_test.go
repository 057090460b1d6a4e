package app

import (
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

// TestPostsInTerminals: a post with all that it can have is published, read, liked, commented, reposted, shared, edited and deleted by lines of rialto chat.
func TestPostsInTerminals(t *testing.T) {
	h, _ := open(t)
	people := newcomers(t, h, "Alice", "Bob")
	alice, bob := people[0], people[1]
	picture := filepath.Join(t.TempDir(), "my lake.png")
	f, err := os.Create(picture)
	must(t, err)
	must(t, png.Encode(f, image.NewGray(image.Rect(0, 0, 8, 8))))
	must(t, f.Close())

	bob.types("/follow @alice", "/notify @alice")
	bob.sees("Done.", "Done.")
	alice.types(fmt.Sprintf(`/post title:"By the lake" cover:%q image:%q image:%q goods:"Lamp, brass, 49.9 EUR, https://example.com/lamp" Hello @bob`, picture, picture, picture))
	alice.types("/post to:friends For friends only", "/profile")
	alice.sees("Done.", "Done.", "2 posts, 1 follower", "for friends", "For friends only", "[1] ", "By the lake", "[2] ")
	bob.sees("* Alice published a post: /feed")
	bob.types("/feed", "/notifications")
	bob.sees("Alice, ", "By the lake", "Hello @bob", "[cover]", "[images: 2]", "Lamp, brass, 49.90 EUR, https://example.com/lamp", "[1] 0 likes")
	bob.sees("Alice mentioned you in a post")

	bob.types("/like 1", "/favourite 1", "/comment 1 Very nice", "/comments 1", "/like 1.1", "/repost 1 Worth reading", "/share 1 @alice")
	bob.sees("Done.", "Done.", "Done.", "1. you, ", "Very nice", "Done.", "Done.")
	alice.sees("[card] By the lake")
	bob.types("/liked", "/favourites", "/viewed")
	bob.sees("By the lake", "[1] 1 like (yours too), 1 favourite (yours too), 1 comment, 1 repost", "By the lake", "By the lake")
	bob.seesNot("For friends only")

	alice.types("/editpost 2 Back again", "/versions 2", "/likers 2", "/comments 2 likes", "/deletecomment 2.1", "/profile")
	alice.sees("Done.", "version 2", "By the lake", "Back again", "version 1", "Hello @bob", "  @bob  Bob", "1. Bob, ", "1 like", "Very nice", "Done.")
	alice.sees("2 posts", "For friends only", ", edited", "By the lake", "Back again", "[images: 2]", "[2] 1 like, 1 favourite, 0 comments")
	alice.types("/deletepost 2", "/profile")
	alice.sees("Done.", "1 post, 1 follower")
	bob.types("/liked", "/feed", "/editpost 1 Gone", "/mute @alice", "/notify off likes", "/notify")
	bob.sees("You have liked no posts.", "Worth reading", "[the post that was shared here is not available]", "Done.", "Done.", "Done.", "likes     off", "comments  on")
}
