package regclient

import (
	"errors"
	"fmt"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
)

// A moduleLogin is Client.ModuleCredentials in one request.
type moduleLogin struct {
	find func(svchost.Hostname) (string, auth.Password, bool)
	sent bool
}

// lookup returns what the request asks, which does so only before it sends.
func (l *moduleLogin) lookup() func(svchost.Hostname) (string, auth.Password, bool) {
	if l.find == nil {
		return nil
	}
	return func(host svchost.Hostname) (user string, password auth.Password, ok bool) {
		user, password, ok = l.find(host)
		l.sent = l.sent || ok
		return user, password, ok
	}
}

// explain says that it was not for the lack of a password that a package was refused.
func (l *moduleLogin) explain(err error) error {
	e, ok := err.(*failure.RequestError)
	if !ok || !l.sent || !errors.Is(e.Err, fault.ErrUnauthorized) {
		return err
	}
	return e.Because(fmt.Errorf("%w; a user and password of Client.ModuleCredentials were sent", e.Err))
}
