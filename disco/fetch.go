package disco

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
)

const maxRedirects = 5

// fetch asks host for its services, without looking into the cache.
func (c *Client) fetch(ctx context.Context, host svchost.Hostname) (*Services, error) {
	client := httpx.Client{
		HTTP: c.HTTP, UserAgent: c.UserAgent, Timeout: c.Timeout, Retries: c.Retries,
		AllowHTTP: c.AllowHTTP, VetoHost: c.VetoHost, Logger: c.Logger, Credentials: c.Credentials,
	}
	res, err := client.Get(ctx, httpx.Request{
		URL: wellKnown(host), Accept: httpx.JSON, TokenFor: host, Limit: maxDocument, Redirects: maxRedirects,
	})
	if err != nil {
		if e, ok := err.(*failure.RequestError); ok && e.Status == http.StatusNotFound && errors.Is(e, fault.ErrNotFound) {
			c.log(ctx, host, e.URL, 0)
			return &Services{host: host, tokenHost: host, allowHTTP: c.AllowHTTP}, nil
		}
		return nil, err
	}
	doc, err := checkResponse(res)
	if err != nil {
		return nil, res.Unusable(err)
	}
	c.log(ctx, host, res.ShownURL(), len(doc.services))
	return &Services{host: host, tokenHost: host, allowHTTP: c.AllowHTTP, doc: doc}, nil
}

func checkResponse(res *httpx.Response) (document, error) {
	if res.Status != http.StatusOK {
		return document{}, errors.New("status 200 is wanted")
	}
	if err := res.CheckMediaType(); err != nil {
		return document{}, err
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
