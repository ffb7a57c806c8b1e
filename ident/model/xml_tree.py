"""XML from strangers, read without entities or documents from elsewhere, every element with its line."""

from dataclasses import dataclass, field
from typing import Any
from xml.sax import SAXException, SAXParseException
from xml.sax.handler import ContentHandler

from defusedxml import DefusedXmlException
from defusedxml.sax import parseString

from ident.joints.problems import ModelError, Problem

_MAX_DEPTH = 100


@dataclass
class XmlElement:
    """An element, its attributes and children; text is of no use in the formats read here."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list["XmlElement"] = field(default_factory=list)

    def all(self, tag: str) -> list["XmlElement"]:
        """Children of one tag."""
        return [c for c in self.children if c.tag == tag]

    def first(self, tag: str) -> "XmlElement | None":
        """First child of one tag."""
        return next((c for c in self.children if c.tag == tag), None)


class _Builder(ContentHandler):
    def __init__(self) -> None:
        super().__init__()
        self.top: XmlElement | None = None
        self._stack: list[XmlElement] = []
        self._locator: Any = None

    def setDocumentLocator(self, locator: Any) -> None:  # noqa: N802 - the name is SAX's
        self._locator = locator

    def startElement(self, name: str, attrs: Any) -> None:  # noqa: N802
        element = XmlElement(name, dict(attrs.items()), int(self._locator.getLineNumber()))
        if self._stack:
            self._stack[-1].children.append(element)
        else:
            self.top = element
        self._stack.append(element)
        if len(self._stack) > _MAX_DEPTH:
            raise SAXException(f"elements are nested more than {_MAX_DEPTH} deep")

    def endElement(self, name: str) -> None:  # noqa: ARG002, N802
        self._stack.pop()


def parse_xml(text: str, name: str) -> XmlElement:
    """Parse XML; raise ModelError for what is malformed or refers to anything outside itself."""
    builder = _Builder()
    try:
        parseString(text.encode("utf-8"), builder, forbid_dtd=True)
    except DefusedXmlException:
        raise ModelError(
            f"{name} defines entities or a document type. Such files can pull in others and are not read; "
            "remove everything from <!DOCTYPE to its end."
        ) from None
    except SAXParseException as error:
        place = Problem(f"column {error.getColumnNumber()}", str(error.getMessage()), error.getLineNumber())
        raise ModelError(f"{name} is not valid XML:", [place]) from None
    except (SAXException, ValueError, LookupError) as error:
        raise ModelError(f"{name} is not valid XML: {error}.") from None
    if builder.top is None:
        raise ModelError(f"{name} is an empty file.")
    return builder.top
