package disco

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/weburl"
)

const (
	mediaType    = "application/json"
	maxRedirects = 5
)

// fetch asks host for its services, without looking into the cache.
func (c *Client) fetch(ctx context.Context, host svchost.Hostname) (*Services, error) {
	client := httpx.Client{
		HTTP: c.HTTP, UserAgent: c.UserAgent, Timeout: c.Timeout, Retries: c.Retries,
		AllowHTTP: c.AllowHTTP, VetoHost: c.VetoHost, Logger: c.Logger, Credentials: c.Credentials,
	}
	res, err := client.Get(ctx, httpx.Request{
		URL: wellKnown(host), Accept: mediaType, TokenFor: host, Limit: maxDocument, Redirects: maxRedirects,
	})
	if err != nil {
		e := requestError(host, err)
		if e.Status == http.StatusNotFound && errors.Is(e, fault.ErrNotFound) {
			c.log(ctx, host, e.URL, 0)
			return &Services{host: host, tokenHost: host, allowHTTP: c.AllowHTTP}, nil
		}
		return nil, e
	}
	doc, err := checkResponse(res)
	if err != nil {
		return nil, &Error{
			Host: host, URL: res.ShownURL(), Status: res.Status,
			HadToken: res.HadToken, Attempts: res.Attempts, Err: err,
		}
	}
	c.log(ctx, host, res.ShownURL(), len(doc.services))
	return &Services{host: host, tokenHost: host, allowHTTP: c.AllowHTTP, doc: doc}, nil
}

func checkResponse(res *httpx.Response) (document, error) {
	if res.Status != http.StatusOK {
		return document{}, errors.New("status 200 is wanted")
	}
	header := res.Header.Get("Content-Type")
	if header == "" {
		return document{}, fmt.Errorf("the answer has no media type, %s is wanted", mediaType)
	}
	got, _, _ := strings.Cut(header, ";")
	if !strings.EqualFold(strings.TrimSpace(got), mediaType) {
		return document{}, fmt.Errorf("the answer has the media type %s, %s is wanted", weburl.Clean(header, maxShown), mediaType)
	}
	doc, err := parseDocument(res.URL, res.Body)
	return doc, res.Conceal(err)
}

func (c *Client) log(ctx context.Context, host svchost.Hostname, url string, services int) {
	if c.Logger != nil {
		c.Logger.LogAttrs(ctx, slog.LevelDebug, "discovered services",
			slog.String("host", host.String()), slog.String("url", url), slog.Int("services", services))
	}
}
