package regclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
)

// Limits of lists in pages. The pages together have at most maxDocument bytes.
const (
	maxPages    = 100  // requests for one list
	maxPageSize = 1000 // requested versions
)

// addPages fetches the further pages of a list whose first page is page, the answer to r. If a
// page fails, the list gets a warning. The error means that the list is too large.
func (c *Client) addPages(ctx context.Context, r httpx.Request, list *moduleList, page modulePage) error {
	r.Limit -= page.bytes
	first, largest, offset := page.entries, maxPageSize, 0
	for requests := 1; ; requests++ {
		next, promised := page.rest(offset)
		switch {
		case next == 0 && page.total > list.counted:
			list.incomplete(page.total, "")
			return nil
		case next == 0:
			return nil
		case requests == maxPages:
			list.incomplete(page.total, fmt.Sprintf("it has more than %d pages", maxPages))
			return nil
		}
		got, err := c.getPage(ctx, r, list, next, page.size(next, largest))
		switch {
		case err == nil && got.fresh > 0:
			got.total = cmp.Or(got.total, page.total)
			r.Limit -= got.bytes
			offset, page = next, got
		case errors.Is(err, fault.ErrTooLarge):
			return err
		case largest > first && refusesSize(err):
			largest = first
		case promised:
			list.incomplete(page.total, reason(err))
			return nil
		default:
			return nil
		}
	}
}

// rest returns the offset of the page after p, which is at offset, or 0. promised reports that
// the registry announces the page. A full page may also be the last one.
func (p *modulePage) rest(offset int) (next int, promised bool) {
	n := p.entries
	switch {
	case n == 0, p.total > 0 && offset+n >= p.total:
		return 0, false
	case p.total > 0:
		return offset + n, true
	case p.next > offset:
		return min(p.next, offset+n), true
	case n == p.limit:
		return offset + n, false
	}
	return 0, false
}

// size returns how many versions to request at an offset after p.
func (p *modulePage) size(offset, largest int) int {
	if p.total > 0 {
		return min(p.total-offset, largest)
	}
	return largest
}

// getPage fetches one page and adds it to the list.
func (c *Client) getPage(ctx context.Context, r httpx.Request, list *moduleList, offset, limit int) (modulePage, error) {
	tooLarge := httpx.TooMany("bytes in the pages of one list", maxDocument)
	if r.Limit <= 0 {
		return modulePage{}, tooLarge
	}
	u := *r.URL
	u.RawQuery = url.Values{"limit": {strconv.Itoa(limit)}, "offset": {strconv.Itoa(offset)}}.Encode()
	r.URL = &u
	resp, err := c.http.Get(ctx, r)
	if e, ok := err.(*failure.RequestError); ok && errors.Is(e.Err, fault.ErrTooLarge) {
		return modulePage{}, e.Because(tooLarge)
	}
	if err != nil {
		return modulePage{}, err
	}
	page, err := list.add(resp)
	if err != nil {
		return modulePage{}, resp.Unusable(err)
	}
	return page, nil
}

// refusesSize reports whether the registry may accept a smaller page.
func refusesSize(err error) bool {
	e, ok := err.(*failure.RequestError)
	return ok && (e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity)
}

// reason describes why a page is missing.
func reason(err error) string {
	if err == nil {
		return "the next page has no new versions"
	}
	return err.Error()
}

// incomplete records that versions are missing. A total of 0 is unknown.
func (l *moduleList) incomplete(total int, why string) {
	l.gap = "the list of versions is incomplete"
	if total > 0 {
		l.gap += fmt.Sprintf(": the registry counts %d and sent %d", total, l.counted)
	}
	if why != "" {
		l.gap += ": " + why
	}
}
