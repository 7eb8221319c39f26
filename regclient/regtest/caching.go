package regtest

import (
	"crypto/sha256"
	"fmt"
	"net/http"
)

// Caching is what the answers of a [Registry] say to caches (RFC 9111). It concerns
// those that are a success; the zero value says nothing, as many registries do.
// Files have entity tags in any case.
//
// A [Fault] with a Header changes single answers.
type Caching struct {
	// Control is the Cache-Control header, such as "max-age=60" or "no-store".
	// Empty means that there is none.
	Control string

	// Vary is the Vary header. Empty means that there is none.
	Vary string

	// Tags gives documents entity tags that follow from their content, by which a
	// client can ask whether they have changed. The answer is 304 if they have not.
	Tags bool
}

// mark makes the answer say so.
func (c Caching) mark(a *answer) {
	if a.status/100 != 2 {
		return
	}
	set := func(name, value string) {
		if _, ok := a.header[name]; !ok && value != "" {
			a.header.Set(name, value)
		}
	}
	set("Cache-Control", c.Control)
	set("Vary", c.Vary)
	if c.Tags && a.etag == "" && a.status == http.StatusOK {
		h := sha256.New()
		scan(h, a.body, a.size)
		a.etag = fmt.Sprintf(`"%x"`, h.Sum(nil)[:16])
	}
}
