package align

// A Said is a warning or finding of a report.
type Said struct {
	Code         string // or id
	Text, Advice string
	Facts        map[string]any // of a finding
}

// Say gives what package findings says of a report. That package is above this one: it is set by a test outside.
var Say func(rep *Report) (warnings, found []Said)

func hasWarning(rep *Report, code string) string {
	warnings, _ := Say(rep)
	for _, w := range warnings {
		if w.Code == code {
			return w.Text
		}
	}
	return ""
}

func hasFinding(rep *Report, id string) *Said {
	_, found := Say(rep)
	for i := range found {
		if found[i].Code == id {
			return &found[i]
		}
	}
	return nil
}
