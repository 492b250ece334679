"""The assignments as JSON, for the page: what it draws from, and what it asks."""

from __future__ import annotations

import json

import cwnd
from cwnd._homework.assignment import assignments
from cwnd._homework.handout import accepted

print(
    json.dumps(
        {
            "version": cwnd.__version__,
            "assignments": [
                {
                    "name": one.name,
                    "title": one.title,
                    "about": one.about,
                    "draw": one.draw,
                    "scenarios": one.scenarios,
                    "questions": [
                        {"key": each.key, "text": each.text, "accepted": accepted(each)}
                        for each in one.questions
                    ],
                }
                for one in assignments().values()
            ],
        }
    )
)
