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

// fetch makes the request for the services of host.
func fetch(ctx context.Context, client *httpx.Client, request *httpx.Prepared, host svchost.Hostname) (*Services, error) {
	res, err := request.Get(ctx)
	if err != nil {
		if e, ok := err.(*failure.RequestError); ok && e.Status == http.StatusNotFound && errors.Is(e, fault.ErrNotFound) {
			log(ctx, client, host, e.URL, 0)
			return &Services{host: host, tokenHost: host, allowHTTP: client.AllowHTTP}, nil
		}
		return nil, err
	}
	doc, err := checkResponse(res)
	if err != nil {
		return nil, res.Unusable(err)
	}
	log(ctx, client, host, res.ShownURL(), len(doc.services))
	return &Services{host: host, tokenHost: host, allowHTTP: client.AllowHTTP, doc: doc}, nil
}

func checkResponse(res *httpx.Response) (document, error) {
	if res.Status != http.StatusOK {
		return document{}, errors.New("want status 200")
	}
	if err := res.CheckMediaType(); err != nil {
		return document{}, err
	}
	doc, err := parseDocument(res.URL, res.Body)
	doc.overHTTP = res.OverHTTP
	return doc, res.Conceal(err)
}

func log(ctx context.Context, c *httpx.Client, host svchost.Hostname, url string, services int) {
	if c.Logger != nil {
		c.Logger.LogAttrs(ctx, slog.LevelDebug, "discovered services",
			slog.String("host", host.String()), slog.String("url", url), slog.Int("services", services))
	}
}
