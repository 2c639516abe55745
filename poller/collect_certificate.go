package poller

import (
	"context"
	"time"

	"monolith"
)

// certificateCollector finds out for how long the server's TLS certificate is good.
func certificateCollector() *Collector {
	return &Collector{
		Name:    "certificate",
		Title:   "TLS certificate",
		Help:    "When the certificate that the server shows to its clients expires.",
		Timeout: 5 * time.Second,
		Applies: func(g *Gather) (bool, string) {
			if !has(g.Identity, since{mysql: v(5, 6, 3), mariadb: v(10)}) {
				return false, "only MySQL from 5.6 and MariaDB from 10.0 on tell when their certificate expires"
			}
			if have := g.variable("have_ssl"); have == "DISABLED" || have == "NO" {
				return false, "the server offers no TLS (have_ssl=" + have + ")"
			}
			return true, ""
		},
		Collect: collectCertificate,
	}
}

// certificateEnd gives one row. It is of the session with MariaDB, and of the server with MySQL.
const certificateEnd = "SHOW GLOBAL STATUS LIKE 'Ssl_server_not_after'"

func collectCertificate(ctx context.Context, g *Gather) error {
	text := ""
	err := g.Session.Query(ctx, certificateEnd, func(row Row) error {
		text = string(row.Bytes(1))
		return nil
	})
	if err != nil {
		return err
	}
	days := monolith.Num{}
	if end, ok := parseCertificateTime(text); ok {
		days = monolith.Float(end.Sub(g.Now).Hours() / 24)
	} else {
		kind, why, cure := monolith.ProblemOff, "the server does not say when its certificate expires: it has none, or shows none", ""
		switch {
		case text != "":
			kind, why = monolith.ProblemAnswer, "the time at which the certificate expires can't be understood: "+cut(printable(text), 64)
		case g.Identity.Flavour.IsMariaDB():
			why = "MariaDB tells only those who are connected with TLS when its certificate expires"
			cure = "choose the TLS mode required for this server"
		}
		g.Note(kind, why, cure)
	}
	rec := g.Recorder("server")
	rec.Number("certificate_days_left", "", days)
	rec.Done()
	return nil
}

// parseCertificateTime reads a time as OpenSSL prints it: "May  3 12:00:00 2034 GMT".
func parseCertificateTime(text string) (time.Time, bool) {
	t, err := time.Parse("Jan _2 15:04:05 2006 MST", text)
	return t, err == nil
}
